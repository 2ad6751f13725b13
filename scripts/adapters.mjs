// Installs the agent frameworks and compiles the adapters, unless that has been done.
import { ensureAdapters } from './prepare.mjs';

await ensureAdapters();
