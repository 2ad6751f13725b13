import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../refused-users.spec.js');
