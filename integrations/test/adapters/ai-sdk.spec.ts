import { kitSuite } from './kit-suite.ts';

kitSuite('ai-sdk');
