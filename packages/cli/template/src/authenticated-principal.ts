/**
 * The door. As it was scaffolded, nobody comes in: everything under `/api` is 401 until you have decided how people
 * sign in. To let people in, delete everything above the dashed line and uncomment everything below it.
 */
import type { PrincipalId } from '@freehold/contracts';
import type { AppContext, Services } from './env.ts';
import { signInRequired } from './problems.ts';

/** The principal who is asking: the gate of everything under `/api`. @throws HTTPException 401 for everybody. */
export async function authenticatedPrincipal(_services: Services, _c: AppContext): Promise<PrincipalId> {
  throw signInRequired();
}

/** Signing in and out: everything under `/api/auth`. @throws HTTPException 401 for everybody. */
export async function signIn(_services: Services, _c: AppContext): Promise<Response> {
  throw signInRequired();
}

// -----------------------------------------------------------------------------------------------------------
// /** The door: a provider proves who somebody is, and the tenant's identity directory knows which principal that is. */
// import { AuthConfigError, resolvePrincipal, type VerifyingAuthProvider } from '@freehold/auth';
// import type { PrincipalId } from '@freehold/contracts';
// import { type AppContext, type Instance, requireInstance, type Services } from './env.ts';
// import { notAMember, signInNotConfigured, signInRequired } from './problems.ts';
//
// /**
//  * The principal who is asking: the gate of everything under `/api`. While the owner seat waits to be claimed, the
//  * first person who comes through here gets it.
//  * @throws HTTPException 401 for nobody; PlatformError `forbidden` for somebody who is no member.
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
// /** Signing in and out: everything under `/api/auth`. */
// export async function signIn(services: Services, c: AppContext): Promise<Response> {
//   const instance = await requireInstance(services, c);
//   const provider = await providerOf(services, instance);
//   // Where people are sent back to is built from the origin that their browser sees, which a proxy may have hidden.
//   const { pathname, search } = new URL(c.req.url);
//   return provider.handle(new Request(`${instance.origin}${pathname}${search}`, c.req.raw));
// }
//
// /** The provider that this instance's settings select. @throws HTTPException 503 or 500 when they select none. */
// async function providerOf(services: Services, { tenant, scope }: Instance): Promise<VerifyingAuthProvider> {
//   const auth = await services.instanceAuthFor({ directory: services.directory(tenant), scopeId: scope });
//   try {
//     return auth.provider();
//   } catch (error) {
//     if (error instanceof AuthConfigError) throw signInNotConfigured(error);
//     throw error;
//   }
// }
