import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../subscription-faults.spec.js');
