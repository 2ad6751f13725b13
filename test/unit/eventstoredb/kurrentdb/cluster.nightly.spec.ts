import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../cluster.spec.js');
