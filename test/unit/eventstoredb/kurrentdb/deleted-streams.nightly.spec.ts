import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../deleted-streams.spec.js');
