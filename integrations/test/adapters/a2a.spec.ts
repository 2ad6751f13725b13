import { kitSuite } from './kit-suite.ts';

kitSuite('a2a');
