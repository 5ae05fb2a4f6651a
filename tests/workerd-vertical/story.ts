/** What happens at two businesses, from the first day on: the same wherever it is told. */
import { atTheDoor } from './chapters-at-the-door.ts';
import { atWork } from './chapters-at-work.ts';
import { lookingBack } from './chapters-looking-back.ts';
import type { Cast, Chapter, Stage } from './telling.ts';
import type { World } from './world.ts';

/** The chapters, and who came up in them. They are to be told once, in their order. */
export function makeStory(world: () => World): {
  readonly cast: Cast;
  readonly chapters: readonly Chapter[];
} {
  const cast = {} as Cast;
  const stage: Stage = { world, client: () => world().client, cast };
  return { cast, chapters: [...atTheDoor(stage), ...atWork(stage), ...lookingBack(stage)] };
}
