// breaks: nest-in-apps-only, runtime-imports-npm
import * as it from '@nestjs/common';
export const used = it;
