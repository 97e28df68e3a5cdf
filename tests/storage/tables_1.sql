BEGIN TRANSACTION;
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
INSERT INTO "api_keys" VALUES('0123456789abcdef','made before','test','chat review','0f007385b6f9d4b7eeb2748605afe1a984a0a3bfa3f014d09e2a784ce9e5cd1a',1700000000000,NULL);
INSERT INTO "api_keys" VALUES('fedcba9876543210','made before','test','chat review','0f007385b6f9d4b7eeb2748605afe1a984a0a3bfa3f014d09e2a784ce9e5cd1a',1700000000000,1700000000001);
CREATE TABLE conversations (
	conversation_id VARCHAR NOT NULL,
	principal VARCHAR NOT NULL,
	agent VARCHAR NOT NULL,
	created_ms BIGINT NOT NULL,
	updated_ms BIGINT NOT NULL,
	turns INTEGER NOT NULL,
	PRIMARY KEY (conversation_id)
);
INSERT INTO "conversations" VALUES('conv_old','key:0123456789abcdef','helper',1800000000000,1800000000000,1);
CREATE TABLE events (
	turn_id VARCHAR NOT NULL,
	first_seq INTEGER NOT NULL,
	last_seq INTEGER NOT NULL,
	packed TEXT NOT NULL,
	PRIMARY KEY (turn_id, first_seq)
);
INSERT INTO "events" VALUES('trn_old',1,1,'[[1,"run_9a00d9348d2ae6ea7bacdb2f",1800000000001,{"type":"turn.started","conversation_id":"conv_old","agent":"helper","model":"none","locale":"en","trace_id":"00000000000000000000000000000000","resumed":false,"topology":{"nodes":[],"edges":[],"flags":{"rag":false,"hitl":false,"judge":false}}}]]');
INSERT INTO "events" VALUES('trn_old',2,2,'[[2,"run_9a00d9348d2ae6ea7bacdb2f",1800000000002,{"type":"turn.completed","finish_reason":"stop","content":"Kept.","citations":[],"guardrail_decisions":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0},"cost":{"model":"none","tokens_in":0,"tokens_out":0,"llm_latency_ms":0,"usd":0.0},"human_wait_ms":null}]]');
CREATE TABLE meta (
	name VARCHAR NOT NULL,
	value VARCHAR,
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('version','1');
INSERT INTO "meta" VALUES('checked','');
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
INSERT INTO "turns" VALUES(1,'trn_old','conv_old','key:0123456789abcdef','helper','completed','run_9a00d9348d2ae6ea7bacdb2f','[{"role":"user","content":"Hello"}]','en','00000000000000000000000000000000',1800000000000,NULL,NULL,2,'Kept.','stop',NULL,'[]',1800000000002);
CREATE INDEX conversations_by_principal ON conversations (principal, updated_ms);
CREATE INDEX turns_by_conversation ON turns (conversation_id, position);
CREATE UNIQUE INDEX one_active_turn ON turns (conversation_id) WHERE phase IN ('running', 'paused');
CREATE INDEX turns_running ON turns (phase) WHERE phase = 'running';
CREATE INDEX pauses_by_phase ON pauses (phase, kind);
CREATE INDEX pauses_by_turn ON pauses (turn_id);
CREATE INDEX pauses_by_conversation ON pauses (conversation_id);
COMMIT;
