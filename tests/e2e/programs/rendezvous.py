"""A rank that meets the others as Horovod does: it stores its data under its rank in a scope of
the rendezvous, requests the data of the others until they are there, and deletes its own again."""
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
# From here on, no rank requests the first scope, so its data may be deleted.
meet("through", number("RANK"), number("SIZE"), b"")
assert ask("DELETE", f"/global/{number('RANK')}")[0] == 200
assert ask("GET", f"/global/{number('RANK')}")[0] == 404
print("rank", number("RANK"), "met", len(everybody), "and here", len(here), flush=True)
