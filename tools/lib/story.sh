# The story of the lost answer, step by step, for tools/run. Every step prints the
# request, what was seen, and what that means, and fails the run when it is not so.
# Sourced, never run. It uses: upstream gateway admin token state recibo.
# shellcheck shell=bash
# shellcheck disable=SC2154  # these six are set by tools/run

KEY="story-$$-1"
REFERENCE="INV-2041-$$"
TICKET="{\"subject\":\"Printer on fire\",\"external_reference\":\"$REFERENCE\"}"
CHANGED="{\"subject\":\"Printer on fire, again\",\"external_reference\":\"$REFERENCE\"}"
LOST_FAULT="delay=60000" # longer than every patience in the configuration
step=0

# ---- the command line of Recibo, in this one place ----

recibo_cli() {
    RECIBO_ADMIN="$admin" RECIBO_TOKEN="$token" "$recibo" "$@"
}
backlog_list() {
    recibo_cli backlog list
}
backlog_show() {
    recibo_cli backlog show "$1"
}
# backlog_settle OPERATION FILE STATUS NOTE
backlog_settle() {
    recibo_cli backlog settle "$1" --verdict executed --response "$2" --status "$3" --note "$4"
}

# ---- helpers ----

chapter() {
    step=$((step + 1))
    printf '\n%d. %s\n' "$step" "$1"
}
meaning() {
    printf '   => %s\n' "$1"
}
indent() {
    sed 's/^/     /'
}
broke() {
    printf '\n   This step did not hold: %s\n' "$1" >&2
    printf '   The last answer is in %s, the log in %s\n' "$state/answer.*" "$state/recibo.log" >&2
    exit 1
}

# ask METHOD URL [CURL ARGUMENT...]: the answer goes to answer.head and answer.body.
# The token and long arguments are not shown.
ask() {
    local method="$1" url="$2"
    shift 2
    printf "   \$ curl -X %s '%s'" "$method" "$url"
    if (($# > 0)); then
        printf " '%s'" "$@" | sed "s/'-\\([Hd]\\)'/-\\1/g"
    fi
    printf '\n'
    : >"$state/answer.head"
    : >"$state/answer.body"
    curl -sS --max-time 30 -X "$method" -D "$state/answer.head" -o "$state/answer.body" "$@" "$url" \
        || broke "curl got no answer from $url"
    tr -d '\r' <"$state/answer.head" \
        | grep -i -E '^(HTTP/|content-type:|location:|idempot|retry-after:)' | indent
    head -c 1200 "$state/answer.body" | indent
    printf '\n'
}
status_is() {
    local seen
    seen="$(awk 'toupper($1) ~ /^HTTP/ { code = $2 } END { print code }' "$state/answer.head")"
    [[ "$seen" == "$1" ]] || broke "the status is ${seen:-none}, expected $1"
}
header_of() {
    tr -d '\r' <"$state/answer.head" \
        | awk -v name="$1" 'BEGIN { name = tolower(name) ":" }
            tolower($1) == name { sub(/^[^:]*:[ ]*/, ""); print; exit }'
}
body_has() {
    grep -q -F -- "$1" "$state/answer.body" || broke "the answer does not say $1"
}
# member NAME FILE: the value of the first member of that name in a JSON text.
member() {
    tr -d '\n' <"$2" | grep -o "\"$1\"[[:space:]]*:[[:space:]]*\\(\"[^\"]*\"\\|[^,}[:space:]]*\\)" \
        | head -n 1 | sed 's/^[^:]*:[[:space:]]*//; s/^"//; s/"$//' || true
}
count_of() {
    curl -sS --max-time 10 -o "$state/stats" "$upstream/_stats" || broke "the ticket API is silent"
    member "$1" "$state/stats"
}
post_ticket() {
    local body="$1"
    shift
    ask POST "$gateway/tickets" -H "Content-Type: application/json" \
        -H "Idempotency-Key: $KEY" "$@" -d "$body"
}

# ---- the story ----

play_story() {
    lose_the_answer
    repeat_while_unknown
    change_the_body
    look_at_the_backlog
    find_the_ticket
    settle_it
    repeat_and_get_it
    printf '\nThe ticket API was asked once, holds one ticket, and the caller has its answer.\n'
}

lose_the_answer() {
    chapter "A ticket is ordered. The API makes it, but its answer never comes back."
    post_ticket "$TICKET" -H "X-Fault: $LOST_FAULT"
    status_is 504
    body_has '"upstream-timeout"'
    operation="$(header_of Idempotency-Operation)"
    [[ -n "$operation" ]] || broke "the answer has no Idempotency-Operation"
    [[ "$(count_of posts)" == 1 ]] || broke "the API has seen $(count_of posts) POST, expected 1"
    [[ "$(count_of tickets)" == 1 ]] || broke "the API holds $(count_of tickets) tickets, expected 1"
    meaning "Recibo does not know whether it ran, and says so. (It did: the API holds 1 ticket.)"
}

repeat_while_unknown() {
    chapter "The caller does what every caller does: it sends the same request again."
    local before
    before="$(count_of posts)"
    post_ticket "$TICKET"
    status_is 409
    body_has '"outcome-unknown"'
    [[ "$(count_of posts)" == "$before" ]] || broke "the repeat reached the API"
    meaning "Nothing was sent: the API has seen $before POST. Without Recibo this would be a second ticket."
}

change_the_body() {
    chapter "The same key with another body is no repeat."
    local before
    before="$(count_of posts)"
    post_ticket "$CHANGED"
    status_is 422
    body_has '"key-reused"'
    body_has '/subject'
    [[ "$(count_of posts)" == "$before" ]] || broke "the changed request reached the API"
    meaning "Refused, and the answer names the member that differs: /subject."
}

look_at_the_backlog() {
    chapter "The operator looks at what is unknown, and at the evidence."
    printf '   $ recibo backlog list\n'
    backlog_list >"$state/list" || broke "recibo backlog list failed"
    indent <"$state/list"
    grep -q -F "$operation" "$state/list" || broke "the list does not show $operation"
    printf '   $ recibo backlog show %s\n' "$operation"
    backlog_show "$operation" >"$state/show" || broke "recibo backlog show failed"
    indent <"$state/show"
    grep -q -F "answer_timeout" "$state/show" || broke "the evidence does not say answer_timeout"
    grep -q -F "$REFERENCE" "$state/show" || broke "the evidence does not show $REFERENCE"
    meaning "The label says what to search for: $REFERENCE."
}

find_the_ticket() {
    chapter "The operator asks the ticket API itself."
    ask GET "$upstream/tickets?external_reference=$REFERENCE"
    status_is 200
    ticket_id="$(member ticket_id "$state/answer.body")"
    [[ -n "$ticket_id" ]] || broke "the API does not know the reference"
    ask GET "$upstream/tickets/$ticket_id"
    status_is 200
    cp "$state/answer.body" "$state/ticket.json"
    meaning "It did run: this is ticket $ticket_id."
}

settle_it() {
    chapter "The operator settles the operation as executed, with that ticket as its answer."
    local note="found by its reference $REFERENCE"
    printf '   $ recibo backlog settle %s --verdict executed --response ticket.json --status 201 --note "%s"\n' \
        "$operation" "$note"
    backlog_settle "$operation" "$state/ticket.json" 201 "$note" >"$state/settled" \
        || broke "recibo backlog settle failed"
    indent <"$state/settled"
    meaning "The verdict, who gave it and why are on record."
}

repeat_and_get_it() {
    chapter "The caller sends its request once more."
    local before
    before="$(count_of posts)"
    post_ticket "$TICKET"
    status_is 201
    [[ "$(header_of Idempotent-Replayed)" == true ]] || broke "the answer is not marked as replayed"
    [[ "$(member ticket_id "$state/answer.body")" == "$ticket_id" ]] \
        || broke "the answer is not about ticket $ticket_id"
    [[ "$(count_of posts)" == "$before" ]] || broke "the repeat reached the API"
    [[ "$(count_of tickets)" == 1 ]] || broke "the API holds $(count_of tickets) tickets, expected 1"
    meaning "It gets ticket $ticket_id, from the receipt."
}
