/** The injection token of the gateway. */
export const httpContextToken = Symbol('HttpContext');
