// breaks: no-development-package
import * as it from 'prettier';
export const used = it;
