CREATE TABLE api_keys (
    key_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    scopes VARCHAR NOT NULL,
    secret_hash VARCHAR NOT NULL,
    created_ms BIGINT NOT NULL,
    revoked_ms BIGINT,
    PRIMARY KEY (key_id)
);
CREATE TABLE conversations (
    conversation_id VARCHAR NOT NULL,
    principal VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    turns INTEGER NOT NULL,
    PRIMARY KEY (conversation_id)
);
CREATE INDEX conversations_by_principal ON conversations (principal, updated_ms);
CREATE TABLE events (
    turn_id VARCHAR NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    packed TEXT NOT NULL,
    PRIMARY KEY (turn_id, first_seq)
);
CREATE TABLE meta (
    name VARCHAR NOT NULL,
    value VARCHAR,
    PRIMARY KEY (name)
);
CREATE TABLE pauses (
    position INTEGER NOT NULL,
    pause_id VARCHAR NOT NULL,
    turn_id VARCHAR NOT NULL,
    conversation_id VARCHAR NOT NULL,
    principal VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    pause TEXT NOT NULL,
    draft TEXT NOT NULL,
    expires_ms BIGINT,
    phase VARCHAR NOT NULL,
    decision VARCHAR,
    decided_by VARCHAR,
    PRIMARY KEY (position),
    UNIQUE (pause_id)
);
CREATE INDEX pauses_by_conversation ON pauses (conversation_id);
CREATE INDEX pauses_by_phase ON pauses (phase, kind);
CREATE INDEX pauses_by_turn ON pauses (turn_id);
CREATE TABLE secrets (
    kind VARCHAR NOT NULL,
    secret_hash VARCHAR NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (kind, secret_hash)
);
CREATE TABLE turns (
    position INTEGER NOT NULL,
    turn_id VARCHAR NOT NULL,
    conversation_id VARCHAR NOT NULL,
    principal VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    phase VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    messages TEXT NOT NULL,
    locale VARCHAR NOT NULL,
    trace_id VARCHAR NOT NULL,
    created_ms BIGINT NOT NULL,
    idempotency_key VARCHAR,
    body_hash VARCHAR,
    last_seq INTEGER NOT NULL,
    content TEXT NOT NULL,
    finish_reason VARCHAR,
    error_code VARCHAR,
    citations TEXT NOT NULL,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (position),
    UNIQUE (principal, idempotency_key),
    UNIQUE (turn_id)
);
CREATE UNIQUE INDEX one_active_turn ON turns (conversation_id) WHERE phase IN ('running', 'paused');
CREATE INDEX turns_by_conversation ON turns (conversation_id, position);
CREATE INDEX turns_running ON turns (phase) WHERE phase = 'running';
INSERT INTO meta VALUES ('version', '1'), ('checked', '');
