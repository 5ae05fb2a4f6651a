/** The parts of its management contract that a vertical supplies (spec 4.4, "Deps" and hooks). */
import type {
  ConfigureRequest,
  DeliveryWarning,
  OwnerClaim,
  OwnerRecovery,
  OwnerRecoveryEnd,
  OwnerRecoveryEndRequest,
  OwnerRecoveryRequest,
  OwnerReplacement,
  OwnerReplacementRequest,
  OwnerSeat,
  ownerClaimRequest,
  ProvisionRequest,
  ProvisionResponse,
  ScopeRef,
  SessionSecretRotateRequest,
  SessionSecretRotation,
  VerticalScopeHost,
} from '@freehold/contracts';
import type { PlatformSecret } from '@freehold/contracts/http';
import type { z } from 'zod';
import type { ProblemOptions } from './problem-response.ts';

export type OwnerClaimRequest = z.infer<typeof ownerClaimRequest>;

/** The argument of every hook. */
export interface PlatformCall<Bindings, Request> {
  /** The worker's bindings of the request. */
  readonly env: Bindings;
  /** The parsed request. */
  readonly request: Request;
  /** The role that the owner seat grants: `deps.ownerRoleKey`. */
  readonly ownerRoleKey: string;
}

/** A hook. It must be idempotent unless it says otherwise, because it may be called again with the same request. */
export type PlatformHook<Bindings, Request, Answer> = (
  call: PlatformCall<Bindings, Request>,
) => Promise<Answer>;

/** Hooks throw a `PlatformError` to refuse; it is the answer of the route. */
export interface PlatformSurfaceDeps<Bindings> extends ProblemOptions {
  /** The secret of `/internal/*`, or a list while one is being replaced. Unset or empty: everything is 403. */
  readonly platformSecret: (env: Bindings) => PlatformSecret;
  /** The scopes of this vertical: any object with every member. */
  readonly hostFor: (env: Bindings) => VerticalScopeHost | Promise<VerticalScopeHost>;
  /**
   * Role key → permission keys, projected into a scope when it is provisioned, and when it is reconciled without other
   * roles.
   */
  readonly roles: Readonly<Record<string, readonly string[]>>;
  readonly ownerRoleKey: string;
  /** The most bytes of a restore. Default: the host decides; they are streamed and never held. */
  readonly restoreBytesMax?: number;

  /**
   * Provision, after the roles: records the pending owner seat in the tenant's identity directory and assigns {@link
   * PlatformCall.ownerRoleKey} to its principal. Returns the state of the seat, or null when this scope has none.
   * Omitted: provision is 501.
   */
  readonly resolveOwner?: PlatformHook<
    Bindings,
    ProvisionRequest,
    { readonly ownerSeat: ProvisionResponse['ownerSeat'] }
  >;
  /**
   * Stores delivered settings; null removes a key. Returns the names of all delivered settings. Omitted: configure,
   * and provision with `config`, are 501.
   */
  readonly onConfigure?: PlatformHook<
    Bindings,
    ConfigureRequest,
    { readonly keys: readonly string[]; readonly warnings?: readonly DeliveryWarning[] }
  >;
  /** Reports the owner seat. Omitted: owner-seat is 501, because the vertical has no seat. */
  readonly ownerSeat?: PlatformHook<Bindings, ScopeRef, OwnerSeat>;
  /** Makes a claim link to `request.origin`; it retires the earlier one. Omitted: owner-claim is 501. */
  readonly mintOwnerClaim?: PlatformHook<Bindings, OwnerClaimRequest, OwnerClaim>;
  /**
   * Makes an invite with `ownerRoleKey`, for an instance whose owner can no longer sign in: a new principal, the role,
   * and `mintOwnerRecovery` of the tenant's identity directory. Omitted: owner-recovery is 501.
   */
  readonly mintOwnerRecovery?: PlatformHook<Bindings, OwnerRecoveryRequest, OwnerRecovery>;
  /**
   * The same, for an owner who must be replaced: `mintOwnerReplacement` of the identity directory. Tells the present
   * holder of the seat. Omitted: owner-replacement is 501.
   */
  readonly mintOwnerReplacement?: PlatformHook<Bindings, OwnerReplacementRequest, OwnerReplacement>;
  /** Ends either link: `endOwnerRecovery` of the identity directory. Omitted: owner-recovery/end is 501. */
  readonly endOwnerRecovery?: PlatformHook<Bindings, OwnerRecoveryEndRequest, OwnerRecoveryEnd>;
  /**
   * Replaces the secret that signs the tenant's sessions: `rotateSessionSecret` of its identity directory. A repeat
   * replaces it once more. Omitted: session-secret/rotate is 501.
   */
  readonly rotateSessionSecret?: PlatformHook<Bindings, SessionSecretRotateRequest, SessionSecretRotation>;
  /** Called at the end of every provision, the repeated ones too: seeds initial data. */
  readonly onProvision?: PlatformHook<
    Bindings,
    ProvisionRequest & { readonly status: ProvisionResponse['status'] },
    void
  >;
  /** Called after the roles of a scope were projected; `request.roles` are those roles. */
  readonly onReconcile?: PlatformHook<
    Bindings,
    ScopeRef & { readonly roles: Readonly<Record<string, readonly string[]>> },
    void
  >;
  /**
   * Called after every provision and every reconciliation of roles: ends the invites of members who lost the right to
   * make them, and takes the roles that an interruption left (`makeMemberships` of `@freehold/auth`).
   */
  readonly settleInvites?: PlatformHook<Bindings, ScopeRef, void>;
  /**
   * Called while the scope still exists, and again if its deletion was interrupted: removes the vertical's data about
   * it elsewhere.
   */
  readonly onDeleteScope?: PlatformHook<Bindings, ScopeRef, void>;
}

/** The hooks whose omission makes their route answer 501 (spec 7.2). */
export type RequiredHook =
  | 'resolveOwner'
  | 'onConfigure'
  | 'ownerSeat'
  | 'mintOwnerClaim'
  | 'mintOwnerRecovery'
  | 'mintOwnerReplacement'
  | 'endOwnerRecovery'
  | 'rotateSessionSecret';
