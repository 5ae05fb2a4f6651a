/** The parts that the runtime of deployed applications takes, on the platform's side. */
export { look } from './declaration/shape.ts';
export { type Declared, type DeclaredMigration, declarationOf } from './platform/declaration-of.ts';
export { mailToHolder } from './platform/holder-notice.ts';
export {
  makeSignInProxy,
  type ProxiedRequest,
  type SignInProxy,
  type SignInProxyOptions,
} from './sign-in-proxy/sign-in-proxy.ts';
