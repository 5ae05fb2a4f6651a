/** The port to the verticals: how the host administration reaches the application behind a scope. */
import type { VerticalScopeHost } from '@freehold/contracts';

/** A vertical whose worker answers `/internal/*`, in this process or behind HTTP. */
export interface BoundVertical {
  /** Moves one management request. Rejects only when the vertical cannot be reached. */
  fetch(request: Request): Promise<Response>;
  /** The secret for `x-platform-secret`: this vertical's own (see `verticalSecret` of the contracts). */
  readonly platformSecret: string;
}

/** The verticals that the wiring knows. A scope whose vertical has neither a worker nor a host is bound to nothing. */
export interface VerticalGateway {
  /** The bound worker of a vertical, or null. */
  bound(vertical: string): BoundVertical | null;
  /** The co-located host of a vertical, or null: used where no worker is bound (spec 4.3.1, the read ladder). */
  local(vertical: string): VerticalScopeHost | null;
}
