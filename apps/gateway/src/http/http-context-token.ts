/** Under this name Nest hands the gateway to the controllers. */
export const httpContextToken = Symbol('HttpContext');
