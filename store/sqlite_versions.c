/* The tables, version by version. What was once released is never edited: a file that
 * was made by it must go the same way again. */
#include "store/sqlite.h"

/* Version 1. Receipts have a 16-byte digest for the index and the identity's own
 * bytes beside it. Bodies lie apart, so that walks stay narrow. Unknowns are
 * counted as they come and go: counting a million on demand would hold the
 * committer. Partial indexes cost nothing while no row is in them. */
static const char *const version_1[] = {
    "CREATE TABLE receipts (id INTEGER PRIMARY KEY, operation_id TEXT NOT NULL,"
    " identity BLOB NOT NULL CHECK (length(identity) = 16),"
    " owner BLOB NOT NULL, scope BLOB NOT NULL, \"key\" BLOB NOT NULL, route BLOB NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " state INTEGER NOT NULL CHECK (state BETWEEN 1 AND {last_state}),"
    " attempt INTEGER NOT NULL, version INTEGER NOT NULL,"
    " marks INTEGER NOT NULL CHECK (marks BETWEEN 0 AND {marks}),"
    " token INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL, due_ms INTEGER NOT NULL,"
    " expire_ms INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " print BLOB NOT NULL CHECK (length(print) = 32), print_mode BLOB NOT NULL,"
    " members BLOB NOT NULL, method BLOB NOT NULL, target BLOB NOT NULL, labels BLOB NOT NULL,"
    " updated_ms INTEGER NOT NULL, repeats INTEGER NOT NULL, last_repeat_ms INTEGER NOT NULL,"
    " \"end\" INTEGER NOT NULL, status INTEGER NOT NULL, attempts BLOB NOT NULL,"
    " evidence_until_ms INTEGER NOT NULL, answer_kept INTEGER NOT NULL,"
    " request_kept INTEGER NOT NULL) STRICT",
    "CREATE UNIQUE INDEX receipts_identity ON receipts (identity)",
    "CREATE UNIQUE INDEX receipts_operation ON receipts (operation_id)",
    "CREATE INDEX receipts_leased ON receipts (id) WHERE state IN ({CLAIMED}, {SENT})",
    "CREATE INDEX receipts_open ON receipts (state) WHERE state IN ({open})",
    "CREATE INDEX receipts_unknown ON receipts (route, created_ms) WHERE state = {UNKNOWN}",
    "CREATE INDEX receipts_contradicted ON receipts (id) WHERE marks & {contradicted}",
    "CREATE INDEX receipts_due ON receipts (due_ms) WHERE due_ms > 0",
    "CREATE INDEX receipts_expire ON receipts (expire_ms) WHERE expire_ms > 0",
    "CREATE INDEX receipts_evidence ON receipts (evidence_until_ms)"
    " WHERE request_kept = 1 AND evidence_until_ms > 0",
    "CREATE TABLE bodies (id INTEGER PRIMARY KEY, request BLOB, answer BLOB) STRICT",
    "CREATE TABLE labels (name BLOB NOT NULL, value BLOB NOT NULL, id INTEGER NOT NULL,"
    " PRIMARY KEY (name, value, id)) STRICT, WITHOUT ROWID",
    "CREATE TABLE audit (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, actor BLOB NOT NULL,"
    " action BLOB NOT NULL, subject BLOB NOT NULL, note BLOB NOT NULL, detail BLOB NOT NULL)"
    " STRICT",
    "CREATE INDEX audit_subject ON audit (subject)",
    "CREATE TABLE pauses (subject INTEGER NOT NULL, name BLOB NOT NULL, actor BLOB NOT NULL,"
    " note BLOB NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (subject, name))"
    " STRICT, WITHOUT ROWID",
    "CREATE TABLE unknowns (route BLOB NOT NULL PRIMARY KEY, count INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID",
    "CREATE TRIGGER unknown_inserted AFTER INSERT ON receipts WHEN new.state = {UNKNOWN} BEGIN"
    " INSERT INTO unknowns VALUES (new.route, 1)"
    " ON CONFLICT (route) DO UPDATE SET count = count + 1; END",
    "CREATE TRIGGER unknown_begun AFTER UPDATE OF state ON receipts"
    " WHEN new.state = {UNKNOWN} AND old.state <> {UNKNOWN} BEGIN"
    " INSERT INTO unknowns VALUES (new.route, 1)"
    " ON CONFLICT (route) DO UPDATE SET count = count + 1; END",
    "CREATE TRIGGER unknown_ended AFTER UPDATE OF state ON receipts"
    " WHEN old.state = {UNKNOWN} AND new.state <> {UNKNOWN} BEGIN"
    " UPDATE unknowns SET count = count - 1 WHERE route = new.route; END",
    "CREATE TRIGGER unknown_deleted AFTER DELETE ON receipts WHEN old.state = {UNKNOWN} BEGIN"
    " UPDATE unknowns SET count = count - 1 WHERE route = old.route; END",
    "CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1),"
    " schema_version INTEGER NOT NULL, epoch INTEGER NOT NULL, next_id INTEGER NOT NULL,"
    " secret BLOB NOT NULL CHECK (length(secret) = 32)) STRICT",
    "INSERT INTO meta VALUES (1, 1, 0, 1, zeroblob(32))",
    "PRAGMA application_id = 1380272969",
    NULL,
};

/* Version 2: the backlog. A row in doubt has a shadow in a table of its own, with all
 * that an operator finds it by: so the indexes of doubts cost nothing where there is
 * none. Triggers keep the shadows, one for all updates since even one that has nothing
 * to do costs its entering; others keep the counters by the shadows. An entry of backlog_group
 * holds all that a group says of its ends. */
#define GROUP_COLUMNS "route, \"end\", status, probe, asked, claimed"
#define GROUP_OF(row)                                                                              \
    row ".route, " row ".\"end\", " row ".status, " row ".probe, " row ".asked, " row ".claimed"
#define GROUP_IS(row) " WHERE (" GROUP_COLUMNS ") = (" GROUP_OF(row) ")"
#define GROUP_GAINS                                                                                \
    " INSERT INTO unknowns VALUES (" GROUP_OF("new") ", 1)"                                        \
                                                     " ON CONFLICT (" GROUP_COLUMNS                \
                                                     ") DO UPDATE SET count = count + 1;"
#define GROUP_LOSES                                                                                \
    " UPDATE unknowns SET count = count - 1" GROUP_IS("old") ";"                                   \
                                                             " DELETE FROM unknowns" GROUP_IS(     \
                                                                 "old") " AND count <= 0;"
#define SHADOW_PARTS                                                                               \
    "new.\"end\", new.status, new.probe, new.repeats > 0, new.claimed_ms > 0, new.probe_due_ms"
#define SHADOW_OF_NEW  "new.id, new.route, new.\"key\", new.owner, new.created_ms, " SHADOW_PARTS
#define SHADOW_COLUMNS "\"end\", status, probe, asked, claimed, due_ms"

static const char *const version_2[] = {
    "ALTER TABLE receipts ADD COLUMN claimed_by BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE receipts ADD COLUMN claimed_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE receipts ADD COLUMN probe INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE receipts ADD COLUMN probe_count INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE receipts ADD COLUMN probe_due_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE receipts ADD COLUMN probes BLOB NOT NULL DEFAULT x''",
    "DROP INDEX receipts_unknown",
    "DROP TRIGGER unknown_inserted",
    "DROP TRIGGER unknown_begun",
    "DROP TRIGGER unknown_ended",
    "DROP TRIGGER unknown_deleted",
    "DROP TABLE unknowns",
    "CREATE TABLE unknowns (route BLOB NOT NULL, \"end\" INTEGER NOT NULL,"
    " status INTEGER NOT NULL, probe INTEGER NOT NULL, asked INTEGER NOT NULL,"
    " claimed INTEGER NOT NULL, count INTEGER NOT NULL,"
    " PRIMARY KEY (" GROUP_COLUMNS ")) STRICT, WITHOUT ROWID",
    "CREATE TABLE backlog (id INTEGER PRIMARY KEY, route BLOB NOT NULL, \"key\" BLOB NOT NULL,"
    " owner BLOB NOT NULL, created_ms INTEGER NOT NULL, \"end\" INTEGER NOT NULL,"
    " status INTEGER NOT NULL, probe INTEGER NOT NULL, asked INTEGER NOT NULL,"
    " claimed INTEGER NOT NULL, due_ms INTEGER NOT NULL) STRICT",
    "INSERT INTO backlog SELECT id, route, \"key\", owner, created_ms, \"end\", status, 0,"
    " repeats > 0, 0, 0 FROM receipts WHERE state = {UNKNOWN}",
    "INSERT INTO unknowns SELECT " GROUP_COLUMNS ", count(*) FROM backlog"
    " GROUP BY " GROUP_COLUMNS,
    "CREATE INDEX backlog_group ON backlog (route, \"end\", status, id, created_ms)",
    "CREATE INDEX backlog_route ON backlog (route)",
    "CREATE INDEX backlog_key ON backlog (\"key\")",
    "CREATE INDEX backlog_owner ON backlog (owner)",
    "CREATE INDEX backlog_claimed ON backlog (id) WHERE claimed > 0",
    "CREATE INDEX backlog_probe ON backlog (probe) WHERE probe > 0",
    "CREATE INDEX backlog_due ON backlog (due_ms) WHERE due_ms > 0",
    "CREATE TRIGGER doubt_inserted AFTER INSERT ON receipts WHEN new.state = {UNKNOWN}"
    " BEGIN INSERT INTO backlog VALUES (" SHADOW_OF_NEW "); END",
    "CREATE TRIGGER doubt_changed AFTER UPDATE OF state, \"end\", status, probe, repeats,"
    " claimed_ms, probe_due_ms ON receipts"
    " WHEN old.state = {UNKNOWN} OR new.state = {UNKNOWN} BEGIN"
    " DELETE FROM backlog WHERE id = old.id AND new.state <> {UNKNOWN};"
    " UPDATE backlog SET (" SHADOW_COLUMNS ") = (" SHADOW_PARTS ") WHERE id = new.id"
    " AND (" SHADOW_COLUMNS ") <> (" SHADOW_PARTS ");"
    " INSERT INTO backlog SELECT " SHADOW_OF_NEW
    " WHERE new.state = {UNKNOWN} AND old.state <> {UNKNOWN}; END",
    "CREATE TRIGGER doubt_deleted AFTER DELETE ON receipts WHEN old.state = {UNKNOWN} BEGIN"
    " DELETE FROM backlog WHERE id = old.id; END",
    "CREATE TRIGGER backlog_inserted AFTER INSERT ON backlog BEGIN" GROUP_GAINS " END",
    "CREATE TRIGGER backlog_changed AFTER UPDATE ON backlog"
    " WHEN (" GROUP_OF("old") ") <> (" GROUP_OF("new") ")"
                                                       " BEGIN" GROUP_LOSES GROUP_GAINS " END",
    "CREATE TRIGGER backlog_deleted AFTER DELETE ON backlog BEGIN" GROUP_LOSES " END",
    "CREATE TABLE plans (id INTEGER PRIMARY KEY, plan_id TEXT NOT NULL UNIQUE,"
    " state INTEGER NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
    " apply_at_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL, actor BLOB NOT NULL,"
    " applied_by BLOB NOT NULL, filter BLOB NOT NULL, verdict BLOB NOT NULL, note BLOB NOT NULL,"
    " is_forced INTEGER NOT NULL, count INTEGER NOT NULL, settled INTEGER NOT NULL,"
    " changed INTEGER NOT NULL, refused INTEGER NOT NULL) STRICT",
    "CREATE TABLE plan_parts (plan_id TEXT NOT NULL PRIMARY KEY, items BLOB NOT NULL,"
    " answer BLOB NOT NULL) STRICT",
    "CREATE TABLE observed (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, route BLOB NOT NULL,"
    " identity BLOB NOT NULL CHECK (length(identity) = 16),"
    " print BLOB NOT NULL CHECK (length(print) = 32), members BLOB NOT NULL,"
    " method BLOB NOT NULL, target BLOB NOT NULL, fault BLOB NOT NULL, \"end\" INTEGER NOT NULL,"
    " means INTEGER NOT NULL, status INTEGER NOT NULL, answered_ms INTEGER NOT NULL,"
    " request_bytes INTEGER NOT NULL, answer_bytes INTEGER NOT NULL) STRICT",
    "CREATE INDEX observed_identity ON observed (identity, id, at_ms, route)",
    NULL,
};

/* Version 3: attempts are counted in windows, and a promised operation has its whole
 * request, which is no evidence and is shown to nobody. */
static const char *const version_3[] = {
    "ALTER TABLE receipts ADD COLUMN promised_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE receipts ADD COLUMN window_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE receipts ADD COLUMN window_attempts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE receipts ADD COLUMN retry_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE bodies ADD COLUMN kept BLOB",
    NULL,
};

const char *const *const sqlite_versions[SQLITE_VERSION_COUNT] = {version_1, version_2, version_3};
