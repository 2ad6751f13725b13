import { jest } from '@jest/globals';

// The same spec with the other client, in a process that has never loaded the first one.
jest.unstable_mockModule('../../eventstoredb-server/client-under-test.ts', () => ({ scheme: 'kurrentdb' }));
await import('./server-restarts.spec.js');
