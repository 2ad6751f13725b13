import { kitSuite } from './kit-suite.ts';

kitSuite('openai-agents');
