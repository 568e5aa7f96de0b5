/** Term is one term of a sum: a variable and its coefficient. */
export type Term = readonly [variable: number, coefficient: number];

/** VariableBounds says which values a variable may take. */
export interface VariableBounds {
  readonly lower?: number;
  readonly upper?: number;
  readonly integer?: boolean;
}

/** ConstraintBounds are the bounds of a constraint's sum; without one, it is not bounded on that side. */
interface ConstraintBounds {
  readonly lower?: number;
  readonly upper?: number;
}

/** Sense says which way an objective is better. */
export type Sense = 'maximize' | 'minimize';

/** Violation is a row or bound that values violate, and by how much. */
export interface Violation {
  readonly name: string;
  readonly amount: number;
}

/**
 * LinearModel is a mixed-integer linear model: named variables, named constraints `lower ≤ Σ a·x ≤ upper`, and one
 * linear objective. It knows no solver; it prints as text and judges a solution by itself.
 */
export class LinearModel {
  readonly variableNames: string[] = [];
  readonly lower: number[] = [];
  readonly upper: number[] = [];
  readonly integer: boolean[] = [];
  readonly constraintNames: string[] = [];
  readonly rowLower: number[] = [];
  readonly rowUpper: number[] = [];
  /** The rows in compressed form: row r holds the entries starts[r] … starts[r + 1]. */
  readonly starts: number[] = [0];
  readonly indices: number[] = [];
  readonly coefficients: number[] = [];
  readonly objective: number[] = [];
  sense: Sense = 'maximize';

  /** addVariable adds a variable and gives its index. Without bounds it is any number from 0 on. */
  addVariable(name: string, { lower = 0, upper = Infinity, integer = false }: VariableBounds = {}): number {
    this.variableNames.push(name);
    this.lower.push(lower);
    this.upper.push(upper);
    this.integer.push(integer);
    this.objective.push(0);
    return this.variableNames.length - 1;
  }

  /** addVariables adds one variable per name, with the same bounds. */
  addVariables(names: readonly string[], bounds: VariableBounds = {}): number[] {
    return names.map((name) => this.addVariable(name, bounds));
  }

  /**
   * addConstraint adds `lower ≤ Σ a·x ≤ upper`, leaves out terms with coefficient 0, and gives the row's index. It
   * does not join terms of the same variable, which the caller names once.
   */
  addConstraint(
    name: string,
    terms: readonly Term[],
    { lower = -Infinity, upper = Infinity }: ConstraintBounds,
  ): number {
    for (const [variable, coefficient] of terms) {
      if (coefficient === 0) continue;
      this.indices.push(variable);
      this.coefficients.push(coefficient);
    }
    this.starts.push(this.indices.length);
    this.rowLower.push(lower);
    this.rowUpper.push(upper);
    this.constraintNames.push(name);
    return this.constraintNames.length - 1;
  }

  /** addObjective replaces the objective and its sense; variables that are not named have coefficient 0. */
  addObjective(sense: Sense, terms: readonly Term[]): void {
    this.sense = sense;
    this.objective.fill(0);
    for (const [variable, coefficient] of terms) this.objective[variable] = coefficient;
  }

  /** smallestCoefficient is the least nonzero absolute value in rows and objective; Infinity if there is none. */
  smallestCoefficient(): number {
    let least = Infinity;
    for (const list of [this.coefficients, this.objective])
      for (const a of list) if (a !== 0) least = Math.min(least, Math.abs(a));
    return least;
  }

  /** objectiveOf is the objective's value at these values of the variables, by index. */
  objectiveOf(values: ArrayLike<number>): number {
    return this.objective.reduce((sum, cost, variable) => sum + cost * (values[variable] as number), 0);
  }

  /**
   * violations recomputes from the model alone which rows, bounds and integrality the values violate.
   * @param tolerance relative to the size of each row's largest term, and absolute for values near 0
   */
  violations(values: ArrayLike<number>, tolerance = 1e-6): Violation[] {
    return [...this.boundViolations(values, tolerance), ...this.rowViolations(values, tolerance)];
  }

  private boundViolations(values: ArrayLike<number>, tolerance: number): Violation[] {
    const found: Violation[] = [];
    this.variableNames.forEach((name, variable) => {
      const value = values[variable] as number;
      const allowed = tolerance * Math.max(1, Math.abs(value));
      const outside = Math.max(
        (this.lower[variable] as number) - value,
        value - (this.upper[variable] as number),
      );
      if (!(outside <= allowed)) found.push({ name, amount: outside });
      const off = Math.abs(value - Math.round(value));
      if (this.integer[variable] && !(off <= allowed)) found.push({ name: `${name} integer`, amount: off });
    });
    return found;
  }

  private rowViolations(values: ArrayLike<number>, tolerance: number): Violation[] {
    const found: Violation[] = [];
    this.constraintNames.forEach((name, row) => {
      let sum = 0;
      let largest = 1;
      for (let e = this.starts[row] as number; e < (this.starts[row + 1] as number); e++) {
        const term = (this.coefficients[e] as number) * (values[this.indices[e] as number] as number);
        sum += term;
        largest = Math.max(largest, Math.abs(term));
      }
      const outside = Math.max((this.rowLower[row] as number) - sum, sum - (this.rowUpper[row] as number));
      if (!(outside <= tolerance * largest)) found.push({ name, amount: outside });
    });
    return found;
  }

  /** toText prints the model for a person: objective, constraints by name, bounds, integers. */
  toText(): string {
    const objective = this.objective.flatMap((cost, v): Term[] => (cost === 0 ? [] : [[v, cost]]));
    const rows = this.constraintNames.map((name, row) => {
      const terms: Term[] = [];
      for (let e = this.starts[row] as number; e < (this.starts[row + 1] as number); e++)
        terms.push([this.indices[e] as number, this.coefficients[e] as number]);
      return `  ${name}: ${between(this.rowLower[row] as number, this.sumText(terms), this.rowUpper[row] as number)}`;
    });
    const bounds = this.variableNames.map((name, v) => {
      const body = between(this.lower[v] as number, name, this.upper[v] as number);
      return `  ${body}${this.integer[v] ? ' integer' : ''}`;
    });
    return [this.sense, `  ${this.sumText(objective)}`, 'subject to', ...rows, 'where', ...bounds, ''].join(
      '\n',
    );
  }

  private sumText(terms: readonly Term[]): string {
    if (terms.length === 0) return '0';
    return terms
      .map(([variable, a], i) => {
        const sign = a < 0 ? '- ' : i === 0 ? '' : '+ ';
        const size = Math.abs(a) === 1 ? '' : `${Math.abs(a)}·`;
        return `${sign}${size}${this.variableNames[variable]}`;
      })
      .join(' ');
  }
}

function between(lower: number, body: string, upper: number): string {
  if (lower === upper) return `${body} = ${lower}`;
  const left = lower === -Infinity ? '' : `${lower} ≤ `;
  const right = upper === Infinity ? '' : ` ≤ ${upper}`;
  return `${left}${body}${right}`;
}
