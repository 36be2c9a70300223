"""A rank that meets the others as Horovod does: it puts what it has under its rank into a scope of
the rendezvous, asks for what the others have until it is there, and takes its own away again."""
import http.client
import os

ADDRESS = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"]
PORT = int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])


def ask(method, path, body=None):
    connection = http.client.HTTPConnection(ADDRESS, PORT, timeout=30)
    connection.request(method, path, body)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def meet(scope, rank, size, value):
    assert ask("PUT", f"/{scope}/{rank}", value)[0] == 200
    found = []
    while len(found) < size:
        status, data = ask("GET", f"/{scope}/{len(found)}")
        assert status in (200, 404), status
        if status == 200:
            found.append(data)
    return found


def number(name):
    return int(os.environ["HOROVOD_" + name])


everybody = meet("global", number("RANK"), number("SIZE"), b"of rank %d" % number("RANK"))
assert everybody == [b"of rank %d" % i for i in range(number("SIZE"))], everybody
here = meet("local_" + os.environ["HOROVOD_HOSTNAME"], number("LOCAL_RANK"), number("LOCAL_SIZE"),
            os.environ["HOROVOD_RANK"].encode())
# Behind this nobody asks for the first scope: what was put there may go.
meet("through", number("RANK"), number("SIZE"), b"")
assert ask("DELETE", f"/global/{number('RANK')}")[0] == 200
assert ask("GET", f"/global/{number('RANK')}")[0] == 404
print("rank", number("RANK"), "met", len(everybody), "and here", len(here), flush=True)
