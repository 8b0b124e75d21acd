#!/usr/bin/env bash
# Compares what duration.sh prints with what it should print.
failed=0

check() {
    local printed
    printed=$(bash duration.sh "$1" 2>&1)
    if [[ $printed == "$2" ]]; then
        echo "ok    $1 -> $printed"
    else
        echo "FAIL  $1 -> $printed, expected $2"
        failed=1
    fi
}

check 59 0h00m59s
check 3599 0h59m59s
check 3723 1h02m03s
check 86400 24h00m00s

exit "$failed"
