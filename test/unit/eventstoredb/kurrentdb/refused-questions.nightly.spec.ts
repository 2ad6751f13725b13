import { useKurrentClient } from './with-kurrentdb.js';

useKurrentClient();
await import('../refused-questions.spec.js');
