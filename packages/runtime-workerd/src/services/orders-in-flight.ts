/**
 * The platform's own requests to instances that are being answered. Some calls of the identity directory are an answer to one
 * of them alone: a bundle may do what the platform asks it to, and not at its own will.
 */
import type { InstanceRef } from './ports.ts';

interface Order extends InstanceRef {
  /** Below `/internal/`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export class OrdersInFlight {
  readonly #orders = new Set<Order>();

  /** Runs a request while its order counts. */
  async during<T>(order: Order, run: () => Promise<T>): Promise<T> {
    this.#orders.add(order);
    try {
      return await run();
    } finally {
      this.#orders.delete(order);
    }
  }

  /** The bodies of the orders of one instance by their path. */
  bodies({ tenant, scope }: InstanceRef, path: string): readonly Order['body'][] {
    return [...this.#orders]
      .filter((order) => order.scope === scope && order.tenant === tenant && order.path === path)
      .map(({ body }) => body);
  }
}
