import { kitSuite } from './kit-suite.ts';

kitSuite('ag-ui');
