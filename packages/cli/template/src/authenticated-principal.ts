/**
 * Sign-in. As scaffolded, everything under `/api` is 401 until you decide how people sign in. To let people in,
 * delete everything above the dashed line and uncomment everything below it.
 */
import type { PrincipalId } from '@freehold/contracts';
import type { AppContext, Services } from './env.ts';
import { signInRequired } from './problems.ts';

/** Finds the principal of a request under `/api`. @throws HTTPException 401 for every request. */
export async function authenticatedPrincipal(_services: Services, _c: AppContext): Promise<PrincipalId> {
  throw signInRequired();
}

/** Answers everything under `/api/auth`. @throws HTTPException 401 for every request. */
export async function signIn(_services: Services, _c: AppContext): Promise<Response> {
  throw signInRequired();
}

// -----------------------------------------------------------------------------------------------------------
// /** Sign-in: a provider proves the subject, and the tenant's identity directory knows its principal. */
// import { AuthConfigError, resolvePrincipal, type VerifyingAuthProvider } from '@freehold/auth';
// import type { PrincipalId } from '@freehold/contracts';
// import { type AppContext, type Instance, requireInstance, type Services } from './env.ts';
// import { notAMember, signInNotConfigured, signInRequired } from './problems.ts';
//
// /**
//  * Finds the principal of a request under `/api`. While the owner seat is open, the first person who signs in gets it.
//  * @throws HTTPException 401 without a sign-in; PlatformError `forbidden` for a person who is no member.
//  */
// export async function authenticatedPrincipal(services: Services, c: AppContext): Promise<PrincipalId> {
//   const instance = await requireInstance(services, c);
//   const provider = await providerOf(services, instance);
//   const verified = await provider.resolve(c.req.raw.headers);
//   if (!verified) throw signInRequired();
//   const { session, ...subject } = verified;
//   const directory = services.directory(instance.tenant);
//   const found = await resolvePrincipal(directory, { scopeId: instance.scope, subject, session });
//   if (found.session === 'ended') throw signInRequired();
//   if (!found.principal) throw notAMember();
//   return found.principal;
// }
//
// /** Answers everything under `/api/auth`: signing in and out. */
// export async function signIn(services: Services, c: AppContext): Promise<Response> {
//   const instance = await requireInstance(services, c);
//   const provider = await providerOf(services, instance);
//   // The redirect back needs the origin that the browser sees; a proxy may have hidden it.
//   const { pathname, search } = new URL(c.req.url);
//   return provider.handle(new Request(`${instance.origin}${pathname}${search}`, c.req.raw));
// }
//
// /** Returns the provider of this instance's settings. @throws HTTPException 503 or 500 when they select none. */
// async function providerOf(services: Services, { tenant, scope }: Instance): Promise<VerifyingAuthProvider> {
//   const auth = await services.instanceAuthFor({ directory: services.directory(tenant), scopeId: scope });
//   try {
//     return auth.provider();
//   } catch (error) {
//     if (error instanceof AuthConfigError) throw signInNotConfigured(error);
//     throw error;
//   }
// }
