/** What happens at two businesses, from the first day on: the same wherever it is told. */

import { lookingBack } from './steps-history.ts';
import { atTheDoor } from './steps-sign-in.ts';
import { atWork } from './steps-work.ts';
import type { Cast, Stage, StoryStep } from './telling.ts';
import type { World } from './world.ts';

/** The chapters, and who came up in them. They are to be told once, in their order. */
export function makeStory(world: () => World): {
  readonly cast: Cast;
  readonly chapters: readonly StoryStep[];
} {
  const cast = {} as Cast;
  const stage: Stage = { world, client: () => world().client, cast };
  return { cast, chapters: [...atTheDoor(stage), ...atWork(stage), ...lookingBack(stage)] };
}
