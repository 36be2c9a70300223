"""An MLflow server of the standard library: the REST calls that Gangway uses, with MLflow's limits,
and faults on demand. It remembers each value that it got, also those that it got twice."""
import http.server
import json
import re
import threading
import urllib.parse

NAME = re.compile(r"[/\w.\- :]+")
TOO_MUCH = {"metrics": 1000, "params": 100, "tags": 100}


class Refused(Exception):
    def __init__(self, code, message, status=400):
        super().__init__(message)
        self.code, self.status = code, status


def check(condition, message):
    if not condition:
        raise Refused("INVALID_PARAMETER_VALUE", message)


def check_name(name):
    check(NAME.fullmatch(name) and len(name) <= 250, f"bad name {name}")
    check(not any(part in ("", ".", "..") for part in name.split("/")), f"bad path {name}")


class Run:
    def __init__(self, number, body):
        self.id, self.name, self.status = f"run{number}", body["run_name"], "RUNNING"
        self.tags = {tag["key"]: tag["value"] for tag in body["tags"]}
        self.params, self.metrics, self.artifacts, self.batches = {}, [], {}, []

    def log(self, body):
        for kind, limit in TOO_MUCH.items():
            check(len(body[kind]) <= limit, f"{len(body[kind])} {kind}")
        check(sum(len(body[kind]) for kind in TOO_MUCH) <= 1000, "more than 1000 items")
        for item in body["metrics"] + body["params"] + body["tags"]:
            check_name(item["key"])
        for param in body["params"]:
            check(len(param["value"]) <= 6000, "a long param")
            check(self.params.setdefault(param["key"], param["value"]) == param["value"],
                  f"param {param['key']} has another value")
        self.metrics += [(m["key"], m["step"], float(m["value"])) for m in body["metrics"]]
        self.tags.update({tag["key"]: tag["value"] for tag in body["tags"]})
        self.batches.append(tuple(len(body[kind]) for kind in TOO_MUCH))

    def describe(self):
        return {"info": {"run_id": self.id, "status": self.status,
                         "artifact_uri": f"mlflow-artifacts:/0/{self.id}/artifacts"},
                "data": {"tags": [{"key": k, "value": v} for k, v in self.tags.items()]}}


class FakeMlflow:
    """`fault(path, number)` is asked at each request, the number of requests so far; it may return
    "500", "lost" (done, but the answer is lost), "hang" (until release) or "hang-done"."""

    def __init__(self, fault=None, token=None, port=0):
        self.fault, self.token = fault or (lambda path, number: None), token
        self.experiments, self.runs, self.requests = {"Default": "0"}, {}, []
        self.released, self.changed = threading.Event(), threading.Condition()
        self.start(port)

    def start(self, port=0):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 10

            def log_message(self, *_):
                pass

            def handle_one(self):
                fake.answer(self)

            do_GET = do_POST = do_PUT = handle_one

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = False  # stop waits for the requests that have arrived
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        """Goes away: the port refuses. start(port) comes back, with all that it remembers."""
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        url = urllib.parse.urlsplit(handler.path)
        path = url.path.removeprefix("/api/2.0/")
        fault = self.fault(path, len(self.requests))
        self.requests.append(path)
        if fault == "hang":
            self.released.wait()
        if fault in ("500", "hang"):
            return self.reply(handler, 500, {"error_code": "INTERNAL_ERROR", "message": "no"})
        try:
            if self.token and handler.headers.get("Authorization") != f"Bearer {self.token}":
                return self.reply(handler, 401, {})
            said = self.act(path, body, urllib.parse.parse_qs(url.query))
        except Refused as refused:
            return self.reply(handler, refused.status,
                              {"error_code": refused.code, "message": str(refused)})
        with self.changed:
            self.changed.notify_all()
        if fault == "hang-done":
            self.released.wait()
        if fault in ("lost", "hang-done"):
            handler.close_connection = True
            return None
        return self.reply(handler, 200, said)

    @staticmethod
    def reply(handler, status, said):
        text = json.dumps(said).encode()
        try:
            handler.send_response(status)
            handler.send_header("Content-Length", str(len(text)))
            handler.end_headers()
            handler.wfile.write(text)
        except OSError:
            handler.close_connection = True

    def act(self, path, body, query):
        if path.startswith("mlflow-artifacts/artifacts/"):
            _, _, _, run, _, name = urllib.parse.unquote(path).split("/", 5)
            self.runs[run].artifacts[name] = body
            return {}
        said = json.loads(body or "{}")
        return getattr(self, re.sub(r"\W", "_", path.removeprefix("mlflow/")))(
            said or {key: values[0] for key, values in query.items()})

    def experiments_get_by_name(self, said):
        if said["experiment_name"] not in self.experiments:
            raise Refused("RESOURCE_DOES_NOT_EXIST", "no experiment", 404)
        return {"experiment": {"experiment_id": self.experiments[said["experiment_name"]]}}

    def experiments_create(self, said):
        self.experiments[said["name"]] = str(len(self.experiments))
        return {"experiment_id": self.experiments[said["name"]]}

    def runs_create(self, said):
        check(said["experiment_id"] in self.experiments.values(), "no experiment")
        run = Run(len(self.runs), said)
        self.runs[run.id] = run
        return {"run": run.describe()}

    def find(self, said):
        if said["run_id"] not in self.runs:
            raise Refused("RESOURCE_DOES_NOT_EXIST", "no run", 404)
        return self.runs[said["run_id"]]

    def runs_get(self, said):
        return {"run": self.find(said).describe()}

    def runs_search(self, said):
        wanted = re.fullmatch(r"tags\.`gangway\.sweep` = '([^']*)'", said["filter"])[1]
        return {"runs": [run.describe() for run in self.runs.values()
                         if run.tags["gangway.sweep"] == wanted]}

    def runs_log_batch(self, said):
        self.find(said).log(said)
        return {}

    def runs_update(self, said):
        self.find(said).status = said["status"]
        return {}

    def wait(self, condition, timeout_s=60):
        """Waits for a request after which the condition holds."""
        with self.changed:
            assert self.changed.wait_for(condition, timeout_s)

    def trials(self, sweep="s"):
        """{number: run} of the trials of a sweep; a trial with two runs is an error."""
        found = {}
        for run in list(self.runs.values()):
            if not run.tags["gangway.sweep"].startswith(sweep + "@"):
                continue
            number = run.tags["gangway.trial"]
            assert number not in found, f"two runs of trial {number}"
            found[number] = run
        found.pop("sweep", None)
        return {int(number): run for number, run in found.items()}
