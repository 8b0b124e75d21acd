#!/usr/bin/env bash
# Prints a number of seconds as hours, minutes and seconds: 3723 is 1h02m03s.
total=${1:?usage: duration.sh SECONDS}

hours=$((total / 3600))
minutes=$((total / 60))
seconds=$((total % 60))

printf '%dh%02dm%02ds\n' "$hours" "$minutes" "$seconds"
