import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../repeats.spec.js');
