#!/bin/sh
# Keeps the decisions about a waitlist, one a line, in `waitlist.txt` of the project.
set -eu

file=${SKILLPKG_PROJECT:-.}/waitlist.txt
user=$2

case $user in
  *[[:space:]]* | @* | *@) valid=no ;;
  *@*.*) valid=yes ;;
  *) valid=no ;;
esac
if [ "$valid" = no ]; then
  printf '%s is not an e-mail address\n' "$user" >&2
  exit 1
fi

case $1 in
  --accept) decision=accepted ;;
  --reject) decision=rejected ;;
  --lookup)
    decision=waiting
    if [ -f "$file" ]; then
      # The last decision about somebody is the one that holds.
      while read -r known address; do
        [ "$address" != "$user" ] || decision=$known
      done <"$file"
    fi
    printf '%s %s\n' "$decision" "$user"
    exit 0
    ;;
  *)
    printf 'unknown operation %s\n' "$1" >&2
    exit 2
    ;;
esac

printf '%s %s\n' "$decision" "$user" >>"$file"
printf '%s %s\n' "$decision" "$user"
