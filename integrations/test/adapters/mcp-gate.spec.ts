import { kitSuite } from './kit-suite.ts';

kitSuite('mcp-gate');
