import { kitSuite } from './kit-suite.ts';

kitSuite('langchain');
