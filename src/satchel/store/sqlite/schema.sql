-- The tables of a new file, then what brings a file of each older schema to the next one. A line of dashes ends a step.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, stem TEXT NOT NULL,
    language TEXT NOT NULL, content_hash TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL, line_count INTEGER NOT NULL, secondary INTEGER NOT NULL, title TEXT NOT NULL,
    tags TEXT NOT NULL, fields TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL, importance REAL,
    origin TEXT NOT NULL, first_chunk INTEGER NOT NULL, last_chunk INTEGER NOT NULL,
    hidden INTEGER NOT NULL DEFAULT 0, segment INTEGER NOT NULL, position INTEGER NOT NULL,
    workspace TEXT NOT NULL DEFAULT '', UNIQUE(kind, key));
CREATE TABLE texts(document INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE chunks(
    row INTEGER PRIMARY KEY, document INTEGER NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,
    twin INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, signature TEXT NOT NULL,
    summary TEXT NOT NULL);
CREATE TABLE definitions(chunk INTEGER NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX definitions_by_name ON definitions(name);
CREATE TABLE edges(
    source INTEGER NOT NULL, type TEXT NOT NULL, target TEXT NOT NULL, weight REAL NOT NULL,
    PRIMARY KEY(source, type, target)) WITHOUT ROWID;
CREATE INDEX edges_by_target ON edges(target, type);
CREATE TABLE segments(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, spans INTEGER NOT NULL, columns BLOB NOT NULL,
    dead BLOB NOT NULL);
CREATE TABLE postings(
    term TEXT NOT NULL, segment INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(segment, term)) WITHOUT ROWID;
CREATE TABLE skipped(
    path TEXT PRIMARY KEY, reason TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE vectors(
    chunk INTEGER NOT NULL, fingerprint TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY(fingerprint, chunk)) WITHOUT ROWID;
CREATE INDEX documents_by_name ON documents(name);
CREATE INDEX documents_by_stem ON documents(stem);
CREATE INDEX documents_by_segment ON documents(segment);
CREATE INDEX definitions_by_chunk ON definitions(chunk);
----
ALTER TABLE bundles ADD COLUMN workspace TEXT NOT NULL DEFAULT ''
----
ALTER TABLE documents RENAME TO chunks;
ALTER TABLE chunks RENAME bundle TO document;
ALTER TABLE bundles RENAME TO documents;
ALTER TABLE documents RENAME first_document TO first_chunk;
ALTER TABLE documents RENAME last_document TO last_chunk;
ALTER TABLE texts RENAME bundle TO document;
ALTER TABLE definitions RENAME document TO chunk;
ALTER TABLE vectors RENAME document TO chunk;
ALTER TABLE segments RENAME windows TO spans;
DROP INDEX bundles_by_name; DROP INDEX bundles_by_stem; DROP INDEX bundles_by_segment;
DROP INDEX definitions_by_document;
CREATE INDEX documents_by_name ON documents(name);
CREATE INDEX documents_by_stem ON documents(stem);
CREATE INDEX documents_by_segment ON documents(segment);
CREATE INDEX definitions_by_chunk ON definitions(chunk);
