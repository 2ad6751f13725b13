// breaks: nest-in-apps-only
import * as it from '@nestjs/core';
export const used = it;
