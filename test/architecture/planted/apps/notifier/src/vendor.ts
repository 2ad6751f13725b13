// breaks: vendor-nodemailer
import * as it from 'nodemailer';
export const used = it;
