"""Real Unix users, made in a namespace of the test's own: it has its own /etc, /run, /var/lib and
processes, of which nothing stays. Needs root.

    import unix_users

    if __name__ == "__main__":
        unix_users.enter()  # runs the file again in the namespace, or exits with 77
        e2e.main()
"""
import os
import shutil
import subprocess
import sys
import tempfile

ENTERED = "UNIX_USERS_ENTERED"
# name -> uid, gid of its first group, further groups
USERS = {"gangway": (901, 901, ()), "alice": (4001, 4001, ("team",)), "bob": (4002, 4002, ()),
         "toor": (0, 0, ()), "zero": (4003, 0, ()), "wheeled": (4004, 4004, ("root",)),
         "system": (950, 950, ()), "nobody": (65534, 65534, ())}
TEAM = 4100


def enter():
    """Runs this program again in the namespace."""
    if os.environ.get(ENTERED):
        return make()
    if os.geteuid() != 0 or subprocess.run(
            ["unshare", "-m", "-p", "--fork", "--mount-proc", "true"], capture_output=True,
            check=False).returncode != 0:
        print("skipped: needs root, and the right to make namespaces")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="gw-users-")
    try:
        done = subprocess.run(
            ["unshare", "-m", "-p", "--fork", "--kill-child", "--mount-proc", sys.executable,
             *sys.argv], env=dict(os.environ, **{ENTERED: folder}), check=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(done.returncode)


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def bind(name, at):
    folder = os.path.join(os.environ[ENTERED], name)
    os.makedirs(folder, 0o755, exist_ok=True)
    os.chmod(os.environ[ENTERED], 0o711)
    subprocess.run(["mount", "--bind", folder, at], check=True)


def make():
    """Fills the namespace."""
    folder = os.environ[ENTERED]
    shutil.copytree("/etc", os.path.join(folder, "etc"), symlinks=True,
                    ignore=shutil.ignore_patterns("shadow*", "gshadow*", "gangway"))
    for name, at in (("etc", "/etc"), ("run", "/run"), ("lib", "/var/lib"), ("home", "/home")):
        bind(name, at)
    write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n" + "".join(
        f"{name}:x:{uid}:{gid}::/home/{name}:/bin/sh\n" for name, (uid, gid, _) in USERS.items()))
    members = {group: ",".join(name for name, user in USERS.items() if group in user[2])
               for group in ("root", "team")}
    write("/etc/group", f"root:x:0:{members['root']}\nteam:x:{TEAM}:{members['team']}\n" + "".join(
        f"{name}:x:{gid}:\n" for name, (_, gid, _) in USERS.items() if gid))
    write("/etc/login.defs", "UID_MIN\t\t1000\nUMASK\t\t027\n")
    write("/etc/nsswitch.conf", "passwd: files\ngroup: files\n")
    for name, (uid, gid, _) in USERS.items():
        os.makedirs(f"/home/{name}", 0o700, exist_ok=True)
        os.chown(f"/home/{name}", uid, gid)
    os.mkdir("/etc/gangway", 0o755)


def allow(text):
    write("/etc/gangway/users", text)
