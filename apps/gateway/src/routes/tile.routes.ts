import { defineRoute } from '../route.js';
import { keyChangesFile } from './checkpoint.routes.js';

const tile = {
  description:
    "A tile of C2SP's `tlog-tiles`: SHA-256 hashes of 32 bytes, or for `entries` the entries of the leaves, each after its length in 2 bytes. A full tile never changes.",
  example: '',
};

/** The log as tiles, for programs that read transparency logs. */
export const tileRoutes = {
  readTile: defineRoute({
    id: 'readTile',
    method: 'GET',
    path: '/v1/log/tile/*',
    tag: 'Events and audit',
    summary: "Read a tile of the tree over the tenant's log",
    roles: ['auditor'],
    stream: 'application/octet-stream',
    streamed: tile,
    codes: ['not-found', 'not-supported'],
  }),
  readCheckpointOf: defineRoute({
    id: 'readCheckpointOf',
    method: 'GET',
    path: '/v1/log/~:tenant/checkpoint',
    tag: 'Events and audit',
    summary: 'Read the newest signed checkpoint of the log of a tenant that is named',
    roles: ['auditor'],
    mayBeOpen: true,
    stream: 'text/plain',
    streamed: {
      description: 'A signed note of C2SP with a checkpoint of `tlog-checkpoint`.',
      example:
        'countersign.example/log\n5\nC3TUMA55gFbNSHKLT7AenxWtPgp5UPvFiXT/Z1MnHSQ=\n\n\u2014 countersign.example/log O3QJejyhfxnA+qpcgUd3aPohTYo9XXRPvze2qjcJBEJH/CCAR8dZSOF5c3xqoNe981amZz/cZMDlUmAItJViZD4GaAI=\n',
    },
    codes: ['not-found', 'not-supported'],
  }),
  readKeyChangesOf: defineRoute({
    id: 'readKeyChangesOf',
    method: 'GET',
    path: '/v1/log/~:tenant/key-changes',
    tag: 'Events and audit',
    summary: 'Read the changes of the key of the log of a tenant that is named',
    roles: ['auditor'],
    stream: 'text/plain',
    streamed: keyChangesFile,
    codes: ['not-found', 'not-supported'],
  }),
  readTileOf: defineRoute({
    id: 'readTileOf',
    method: 'GET',
    path: '/v1/log/~:tenant/tile/*',
    tag: 'Events and audit',
    summary: 'Read a tile of the tree over the log of a tenant that is named',
    roles: ['auditor'],
    mayBeOpen: true,
    stream: 'application/octet-stream',
    streamed: tile,
    codes: ['not-found', 'not-supported'],
  }),
} as const;
