import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../replaced-clients.spec.js');
