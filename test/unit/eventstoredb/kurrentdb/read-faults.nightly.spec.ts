import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../read-faults.spec.js');
