import { ChangeDetectionStrategy, Component, computed, input } from '@angular/core';

export interface ChartPoint {
  readonly at: number;
  readonly value: number | null;
}

const WIDTH = 600;
const HEIGHT = 90;

/** One quantity over the last minutes, as a line. Gaps are gaps: nothing is drawn where nothing was known. */
@Component({
  selector: 'pm-chart',
  template: `
    <figure>
      <figcaption>
        <span class="name">{{ name() }}</span>
        <span class="now number">{{ now() }}</span>
        <span class="top muted number">highest {{ format()(highest()) }}</span>
      </figcaption>
      <svg [attr.viewBox]="box" preserveAspectRatio="none" role="img" [attr.aria-label]="label()">
        <line x1="0" x2="600" y1="89" y2="89" />
        <path class="area" [attr.d]="area()" />
        <path class="line" [attr.d]="line()" />
      </svg>
      <p class="axis muted"><span>15 min ago</span><span>now</span></p>
    </figure>
  `,
  styleUrl: './chart.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
})
export class Chart {
  readonly name = input.required<string>();
  readonly points = input.required<readonly ChartPoint[]>();
  readonly until = input.required<number>();
  readonly spanMs = input(15 * 60_000);
  readonly format = input.required<(value: number | null) => string>();

  protected readonly box = `0 0 ${WIDTH} ${HEIGHT}`;
  protected readonly highest = computed(() =>
    this.points().reduce<number | null>((top, { value }) => (value === null ? top : Math.max(top ?? value, value)), null),
  );
  protected readonly now = computed(() => this.format()(this.points().at(-1)?.value ?? null));
  protected readonly label = computed(() => `${this.name()}: now ${this.now()}, highest ${this.format()(this.highest())}`);

  private readonly runs = computed(() => {
    const top = Math.max(this.highest() ?? 0, 1e-9) * 1.08;
    const begin = this.until() - this.spanMs();
    const runs: { x: number; y: number }[][] = [[]];
    let before = 0;
    for (const { at, value } of this.points()) {
      if (value === null || at - before > 10_000) {
        runs.push([]);
      }
      before = at;
      if (value !== null && at >= begin) {
        const x = ((at - begin) / this.spanMs()) * WIDTH;
        runs.at(-1)?.push({ x, y: HEIGHT - 1 - (value / top) * (HEIGHT - 4) });
      }
    }
    return runs.filter((run) => run.length > 0);
  });
  protected readonly line = computed(() => this.runs().map((run) => `M${trace(run)}`).join(''));
  protected readonly area = computed(() =>
    this.runs()
      .map((run) => `M${run[0]?.x.toFixed(1)},${HEIGHT}L${trace(run)}L${run.at(-1)?.x.toFixed(1)},${HEIGHT}Z`)
      .join(''),
  );
}

function trace(run: readonly { x: number; y: number }[]): string {
  return run.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join('L');
}
