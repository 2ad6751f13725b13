// breaks: nothing
import * as it from '@countersign/text';
export const used = it;
