import tseslint from 'typescript-eslint';
import { floorsLint } from '../../architecture/lint.mjs';

export default [
  {
    files: ['**/*.ts'],
    languageOptions: { parser: tseslint.parser },
    plugins: { '@typescript-eslint': tseslint.plugin },
  },
  ...floorsLint,
];
