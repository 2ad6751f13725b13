import tseslint from 'typescript-eslint';
import { configWith } from '../../architecture/lint.mjs';

export default configWith(tseslint);
