import { kitSuite } from './kit-suite.ts';

kitSuite('mastra');
