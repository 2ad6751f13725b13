import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../append-faults.spec.js');
