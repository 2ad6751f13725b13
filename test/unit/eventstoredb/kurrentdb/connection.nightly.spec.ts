import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../connection.spec.js');
