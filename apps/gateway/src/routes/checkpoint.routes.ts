import {
  checkpointQuerySchema,
  continueLogSchema,
  timestampQuerySchema,
  timestampsQuerySchema,
  vkeysQuerySchema,
} from '@countersign/contracts';
import { defineRoute } from '../route.js';

const checkpoint = {
  description:
    'A signed note of C2SP with a checkpoint of `tlog-checkpoint`: origin, size and root of the tree over the events of the tenant. Keep it: it proves later that nothing before it was changed.',
  example:
    'countersign.example/log\n5\nC3TUMA55gFbNSHKLT7AenxWtPgp5UPvFiXT/Z1MnHSQ=\n\n\u2014 countersign.example/log O3QJejyhfxnA+qpcgUd3aPohTYo9XXRPvze2qjcJBEJH/CCAR8dZSOF5c3xqoNe981amZz/cZMDlUmAItJViZD4GaAI=\n',
};

/** The changes of the log key, as they are sent. */
export const keyChangesFile = {
  description:
    'On each line a JSON object: the event `LogKeyChanged` with its entry, its content and a `tlog-proof` of C2SP, whose checkpoint the old and the new key signed.',
  example:
    '{"index":4,"entry":"{\\"body\\":…}","body":{"data":{},"metadata":{}},"proof":"c2sp.org/tlog-proof@v1\\n…"}\n',
};

/** What an auditor keeps elsewhere. */
export const checkpointRoutes = {
  readCheckpoint: defineRoute({
    id: 'readCheckpoint',
    method: 'GET',
    path: '/v1/log/checkpoint',
    tag: 'Events and audit',
    summary: "Read the newest signed checkpoint of the tenant's log that has the quorum of the witnesses",
    roles: ['auditor'],
    query: checkpointQuerySchema,
    stream: 'text/plain',
    streamed: checkpoint,
    codes: ['not-found', 'not-supported'],
  }),
  readTimestamp: defineRoute({
    id: 'readTimestamp',
    method: 'GET',
    path: '/v1/log/checkpoint/timestamp',
    tag: 'Events and audit',
    summary: "Read the RFC 3161 time stamp of a checkpoint of the tenant's log",
    roles: ['auditor'],
    query: timestampQuerySchema,
    stream: 'application/timestamp-reply',
    streamed: {
      description:
        'The `TimeStampResp` of RFC 3161 as the authority sent it, in DER. It is over the SHA-256 of the text that the log signed: the lines of the checkpoint before the empty one, with the last line break.',
      example: '',
    },
    codes: ['not-found', 'not-supported'],
  }),
  listTimestamps: defineRoute({
    id: 'listTimestamps',
    method: 'GET',
    path: '/v1/log/timestamps',
    tag: 'Events and audit',
    summary: "List the checkpoints of the tenant's log that have an RFC 3161 time stamp",
    roles: ['auditor'],
    query: timestampsQuerySchema,
    stream: 'application/x-ndjson',
    streamed: {
      description:
        'On each line a JSON object: `epoch`, `size`, `time`, the text that is stamped (`checkpoint`), and the answer of the authority in base64 (`timestamp`). `after` with the epoch and the size of the last line leads to the next page.',
      example:
        '{"epoch":1,"size":5,"time":"2026-11-03T09:00:00.000Z","checkpoint":"countersign.example/log\\n5\\nC3TUMA55gFbNSHKLT7AenxWtPgp5UPvFiXT/Z1MnHSQ=\\n","timestamp":"MIIE…"}\n',
    },
    codes: ['not-supported'],
  }),
  makeCheckpoint: defineRoute({
    id: 'makeCheckpoint',
    method: 'POST',
    path: '/v1/log/checkpoint',
    tag: 'Events and audit',
    summary: 'Sign a checkpoint that covers every event that is recorded now',
    roles: ['auditor'],
    stream: 'text/plain',
    streamed: checkpoint,
    codes: ['not-found', 'not-supported'],
  }),
  continueLog: defineRoute({
    id: 'continueLog',
    method: 'POST',
    path: '/v1/log/continue',
    tag: 'Events and audit',
    summary: 'Go on, as the next epoch, with a log that contradicts what was signed, such as one from a backup',
    roles: ['admin'],
    body: continueLogSchema,
    stream: 'text/plain',
    streamed: checkpoint,
    codes: ['not-found', 'not-supported', 'unavailable'],
  }),
  readVkeys: defineRoute({
    id: 'readVkeys',
    method: 'GET',
    path: '/v1/log/vkey',
    tag: 'Events and audit',
    summary: "Read the public keys of the tenant's log, which verify its checkpoints",
    roles: ['auditor'],
    query: vkeysQuerySchema,
    stream: 'text/plain',
    streamed: {
      description: 'One vkey of a C2SP signed note on each line, that of the present epoch first. Keep them elsewhere.',
      example: 'countersign.example/log+3b74097a+AXm1Vi6P5lT5QHixEuipi6eQH4U65pW+1+DjkQutBJZk\n',
    },
    codes: ['not-found', 'not-supported'],
  }),
  readKeyChanges: defineRoute({
    id: 'readKeyChanges',
    method: 'GET',
    path: '/v1/log/key-changes',
    tag: 'Events and audit',
    summary: "Read the changes of the key of the tenant's log, which pass the trust in an old key on to the new one",
    roles: ['auditor'],
    stream: 'text/plain',
    streamed: keyChangesFile,
    codes: ['not-found', 'not-supported'],
  }),
} as const;
